declare const __MARKETGATE_VERSION__: string | undefined;

/** The package's version, which the build inserts. */
export const PACKAGE_VERSION =
  typeof __MARKETGATE_VERSION__ === 'string' ? __MARKETGATE_VERSION__ : 'development';
