import type { KeyApi } from 'marketgate';
import { KeyApiService } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { describeShape, type ReadRecord } from '../../support/shape-tests.js';
import { CODE } from '../../support/wire.js';

const reader =
  (body: (sent: object) => object, call: (keyApi: KeyApi) => Promise<object | null>): ReadRecord =>
  async (sent) => {
    const service = new KeyApiService();
    service.override = () => json(body(sent));
    return call(service.client()).then(
      (value) => value ?? {},
      (error: Error) => error,
    );
  };

describeShape(
  'account',
  reader(
    (data) => ({ data }),
    (keyApi) => keyApi.getAccount(),
  ),
);
describeShape(
  'item',
  reader(
    (item) => ({ item }),
    (keyApi) => keyApi.getItem(1042),
  ),
);
describeShape(
  'purchase',
  reader(
    (purchase) => ({ data: { purchase } }),
    (keyApi) => keyApi.validatePurchase(CODE),
  ),
);
