import './main.js';

serveMetrics(0).once('listening', function () {
  console.log(`metrics at ${this.address().port}`);
});
