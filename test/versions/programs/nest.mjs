import 'reflect-metadata';
import { Catch, Controller, Get, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import * as marketgate from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { runShop, SECRET } from './shop.mjs';

const { isMarketgateError, loadUser, MarketplaceStrategy, purchaseOf, requirePurchase, userOf } =
  marketgate;

/** Decorates a method, as TypeScript does for `@Get() @UseGuards() method(@Req() req)`. */
function decorate({ prototype }, name, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators) decorator(prototype, name, descriptor);
  Req()(prototype, name, 0);
}

async function serve(_lib, { keyApi, loginApi, tokenStore }) {
  class ShopStrategy extends PassportStrategy(MarketplaceStrategy, 'marketplace') {
    constructor() {
      super({ loginApi, tokenStore, loginAttempts: { cookieSecret: SECRET } });
    }
    async validate(_accessToken, _refreshToken, profile) {
      return { id: profile.id };
    }
  }

  class ShopController {
    download(req) {
      return { item: purchaseOf(req).item.id };
    }
    login() {}
    async callback(req) {
      await new Promise((resolve, reject) => {
        const done = (error) => (error ? reject(error) : resolve());
        loadUser(loginApi, { tokenStore })(req, req.res, done);
      });
      return { id: req.user.id, name: userOf(req).user_name };
    }
  }
  const login = UseGuards(AuthGuard('marketplace'));
  decorate(ShopController, 'download', Get('download'));
  decorate(ShopController, 'login', Get('login'), login);
  decorate(ShopController, 'callback', Get('callback'), login);
  Controller()(ShopController);

  class ShopModule {
    configure(consumer) {
      consumer.apply(requirePurchase(keyApi, { item: 1042 })).forRoutes('download');
    }
  }
  Module({
    imports: [PassportModule.register({ session: false })],
    controllers: [ShopController],
    providers: [ShopStrategy],
  })(ShopModule);

  const onError = marketgate.errorHandler({ log: false });
  class ShopFilter {
    catch(error, host) {
      const http = host.switchToHttp();
      const res = http.getResponse();
      // From version 12 on, Nest makes an HttpException of what a middleware passes to `next`.
      const found = isMarketgateError(error.cause) ? error.cause : error;
      onError(found, http.getRequest(), res, () => {
        res.status(error.status ?? 500).json({ message: error.message });
      });
    }
  }
  Catch()(ShopFilter);

  const app = await NestFactory.create(ShopModule, { logger: false });
  app.useGlobalFilters(new ShopFilter());
  await app.listen(0, '127.0.0.1');
  return { port: app.getHttpServer().address().port, close: () => app.close() };
}

runShop({ ...marketgate, createSandbox }, serve).catch((error) => {
  console.error(error);
  process.exit(1);
});
