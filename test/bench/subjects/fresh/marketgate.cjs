const { KeyApi } = require('marketgate');
const report = require('./report.cjs');

const [, , baseUrl, code] = process.argv;
const keyApi = new KeyApi({ baseUrl, apiKey: 'bench' });
keyApi.validatePurchase(code).then(report);
