import type { Agent, Dispatcher } from 'undici';
import type { WireAnswer } from '../../support/service-in-memory.js';

/** A dispatcher that passes everything on to a real one, and keeps the last answer to each path. */
export function recorder(agent: Agent) {
  const answers = new Map<string, WireAnswer>();
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const chunks: Buffer[] = [];
    let head: Pick<WireAnswer, 'status' | 'headers'> = { status: 0, headers: {} };
    const watching: Dispatcher.DispatchHandler = {
      onRequestStart: (...given) => handler.onRequestStart?.(...given),
      onResponseError: (...given) => handler.onResponseError?.(...given),
      onResponseStart(controller, status, headers, message) {
        head = { status, headers: headers as WireAnswer['headers'] };
        handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData(controller, chunk) {
        chunks.push(chunk);
        handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd(controller, trailers) {
        const path = options.path.split('?')[0] ?? '';
        answers.set(path, { ...head, bytes: Buffer.concat(chunks) });
        handler.onResponseEnd?.(controller, trailers);
      },
    };
    return dispatch(options, watching);
  });
  return { dispatcher: dispatcher as Dispatcher, answers };
}
