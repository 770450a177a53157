declare const __MARKETGATE_VERSION__: string | undefined;

/** The package's version; the build puts it in. */
export const VERSION =
  typeof __MARKETGATE_VERSION__ === 'string' ? __MARKETGATE_VERSION__ : 'development';

/**
 * Sent with every request. Deployments redirect what calls itself Mozilla, Chrome, Firefox, Edge or
 * Opera to their home page, so the name must not hold any of these.
 */
export const USER_AGENT = `marketgate/${VERSION}`;
