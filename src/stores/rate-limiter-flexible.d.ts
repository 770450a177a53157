// The library's index loads the stores of all databases, which costs a process that starts ten times as much.
declare module 'rate-limiter-flexible/lib/RateLimiterMemory.js' {
  export { RateLimiterMemory as default } from 'rate-limiter-flexible';
}
