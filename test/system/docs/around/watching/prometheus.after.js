import { errorHandler, KeyApi, requirePurchase } from 'marketgate';

const keyApi = new KeyApi({
  baseUrl: process.env.MARKETPLACE_BASE_URL,
  apiKey: process.env.MARKETPLACE_API_KEY,
});
const app = express();
app.get('/downloads', requirePurchase(keyApi), (_req, res) => res.sendStatus(204));
app.use(errorHandler());
app.listen(3000);
serveMetrics(0).once('listening', function () {
  console.log(`metrics at ${this.address().port}`);
});
