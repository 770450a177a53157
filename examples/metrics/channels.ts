import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type {
  DriftMessage,
  GuardMessage,
  LoginMessage,
  LookupMessage,
  RequestMessage,
  StoreDriftMessage,
} from 'marketgate';

/** The messages of each channel. They contain no secrets. */
export interface Messages {
  'marketgate:request': RequestMessage;
  'marketgate:lookup': LookupMessage;
  'marketgate:guard': GuardMessage;
  'marketgate:login': LoginMessage;
  'marketgate:drift': DriftMessage | StoreDriftMessage;
}

type Listeners = { [Name in keyof Messages]?: (message: Messages[Name]) => void };

/** Called with what a listener threw. */
export type OnListenerError = (error: unknown, channel: string) => void;

/**
 * Listens on the package's channels, with types. Returns a function that ends it.
 *
 * Node turns an error in a listener into an uncaught exception, which ends the process. So errors are
 * caught here.
 */
export function listen(listeners: Listeners, onError: OnListenerError): () => void {
  const ends = Object.entries(listeners).map(([channel, listener]) => {
    const guarded = (message: unknown) => {
      try {
        // TypeScript loses the message's type in `Object.entries`.
        (listener as (message: unknown) => void)(message);
      } catch (error) {
        onError(error, channel);
      }
    };
    subscribe(channel, guarded);
    return () => unsubscribe(channel, guarded);
  });
  return () => {
    for (const end of ends) end();
  };
}
