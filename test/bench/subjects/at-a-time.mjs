/** Makes a function that calls `once` so many times in all, `width` at a time. */
export const atATime = (width, once) => async (calls) => {
  let begun = 0;
  const lane = async () => {
    while (begun < calls) await once(begun++);
  };
  await Promise.all(Array.from({ length: width }, lane));
};
