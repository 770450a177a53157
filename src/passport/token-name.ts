/** The name of a strategy that was given none. */
export const DEFAULT_NAME = 'marketplace';

/**
 * What the tokens of a strategy are stored under: the `user_id`, and for a strategy of another name
 * that name before it, so that two marketplaces never mix up their users.
 */
export const tokenNameFor =
  (strategy: string) =>
  (userId: string): string =>
    strategy === DEFAULT_NAME ? userId : `${strategy}:${userId}`;
