import express from 'express';
import { errorHandler, KeyApi, purchaseOf, requirePurchase } from 'marketgate';

const { env } = process;
const app = express();
