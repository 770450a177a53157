import { type Answerer, ServiceInMemory as Service } from '../../support/service-in-memory.js';

export { json as answering } from '../../support/service-in-memory.js';

/** Unknown to the sweep for secrets: these tests look for theirs themselves, and make errors that hold some. */
export class ServiceInMemory extends Service {
  constructor(answer: Answerer) {
    super(answer, { isSwept: false });
  }
}
