import type { KeyApi } from 'marketgate';
import type { RecordName } from '../../oracle/shape-rows.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { describeShape } from '../../support/shape-tests.js';
import { CODE } from '../../support/wire.js';

type Read = (keyApi: KeyApi) => Promise<object | null>;

const SHAPES: [RecordName, (sent: object) => object, Read][] = [
  ['account', (data) => ({ data }), (keyApi) => keyApi.getAccount()],
  ['item', (item) => ({ item }), (keyApi) => keyApi.getItem(1042)],
  ['purchase', (purchase) => ({ data: { purchase } }), (keyApi) => keyApi.validatePurchase(CODE)],
];

for (const [name, body, read] of SHAPES) {
  describeShape(name, async (sent) => {
    const service = new KeyApiService({ override: () => json(body(sent)) });
    return read(service.client()).then(
      (value) => value ?? {},
      (error: Error) => error,
    );
  });
}
