/** Express 4 under its alias; only what tests use of it, which Express 5's types describe as well. */
declare module 'express4' {
  import express from 'express';
  export default express;
}
