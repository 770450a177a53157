import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type {
  CodesInvalidMessage,
  DriftMessage,
  GuardMessage,
  LoginMessage,
  LookupMessage,
  RequestMessage,
  StoreDriftMessage,
} from 'marketgate';

/** What the package tells, by channel. Its messages hold no secret; neither does what is made of them. */
export interface Messages {
  'marketgate:request': RequestMessage;
  'marketgate:lookup': LookupMessage;
  'marketgate:guard': GuardMessage;
  'marketgate:login': LoginMessage;
  'marketgate:drift': DriftMessage | StoreDriftMessage | CodesInvalidMessage;
}

type Listeners = { [Name in keyof Messages]?: (message: Messages[Name]) => void };

/** Told of a listener that threw. */
export type OnListenerError = (error: unknown, channel: string) => void;

/**
 * Listens on the package's channels, with types. Returns a function that ends it.
 *
 * A listener is called in the middle of a request. What it throws does not reach the request, but Node
 * makes an uncaught exception of it, which ends the process with all its requests. So it is caught here:
 * a metric that cannot be counted is no reason to turn customers away.
 */
export function listen(listeners: Listeners, onError: OnListenerError): () => void {
  const ends = Object.entries(listeners).map(([channel, listener]) => {
    const guarded = (message: unknown) => {
      try {
        // The name decides the type, as `Messages` has it; TypeScript cannot follow it through entries.
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
