import 'reflect-metadata';
import { Catch, Controller, Get, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { isMarketgateError, MarketplaceStrategy } from 'marketgate';
import { runShop } from './run-shop.mjs';

/** Decorates a method, as TypeScript does for `@Get() @UseGuards() method(@Req() req)`. */
function decorate({ prototype }, name, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators) decorator(prototype, name, descriptor);
  Req()(prototype, name, 0);
}

runShop(async ({ guard, itemOf, broken, loadUser, userOf, onError, ...parts }) => {
  const { loginApi, tokenStore, loginAttempts } = parts;

  class ShopStrategy extends PassportStrategy(MarketplaceStrategy, 'marketplace') {
    constructor() {
      super({ loginApi, tokenStore, loginAttempts });
    }
    async validate(_accessToken, _refreshToken, profile) {
      return { id: profile.id };
    }
  }

  class ShopController {
    download(req) {
      return itemOf(req);
    }
    broken() {}
    login() {}
    async callback(req) {
      await new Promise((resolve, reject) => {
        loadUser(req, req.res, (error) => (error ? reject(error) : resolve()));
      });
      return userOf(req);
    }
  }
  const login = UseGuards(AuthGuard('marketplace'));
  decorate(ShopController, 'download', Get('download'));
  decorate(ShopController, 'broken', Get('broken'));
  decorate(ShopController, 'login', Get('login'), login);
  decorate(ShopController, 'callback', Get('callback'), login);
  Controller()(ShopController);

  class ShopModule {
    configure(consumer) {
      consumer.apply(guard).forRoutes('download');
      consumer.apply(broken).forRoutes('broken');
    }
  }
  Module({
    imports: [PassportModule.register({ session: false })],
    controllers: [ShopController],
    providers: [ShopStrategy],
  })(ShopModule);

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
});
