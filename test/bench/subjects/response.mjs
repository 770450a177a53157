/** As much of a response as a guard uses that is called without Express. */
export const res = { locals: {}, hasHeader: () => false, getHeader() {}, setHeader() {} };
