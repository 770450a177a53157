// Also what is bundled, so that it loads nothing by a name that it computes.
import express from 'express';
import { runShop } from './run-shop.mjs';
import { inExpress } from './shop.mjs';

runShop(inExpress(express));
