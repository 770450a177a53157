/** Makes a function that calls `once` so many times in all, 50 at a time. */
export const fiftyAtATime = (once) => async (calls) => {
  let begun = 0;
  const lane = async () => {
    while (begun < calls) await once(begun++);
  };
  await Promise.all(Array.from({ length: 50 }, lane));
};
