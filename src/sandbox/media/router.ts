import type { Request, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem } from '../seed/types.js';
import { previewImage, screenshot, thumbnail } from './item-picture.js';
import { appIcon, cover, MARK, portrait } from './portraits.js';
import { previewAudio } from './preview-audio.js';
import { previewVideo } from './preview-video.js';
import { sendFile } from './send-file.js';

const SVG = 'image/svg+xml; charset=utf-8';

interface MediaFile {
  readonly type: string;
  readonly content: string | Buffer;
}

const svg = (content: string): MediaFile => ({ type: SVG, content });

/** A file of an item, if it has it: the presence rules are the ones of the spec, "media fields". */
function itemFile(item: Readonly<SeedItem>, file: string): MediaFile | undefined {
  if (file === 'thumbnail.svg') return svg(thumbnail(item));
  // The wide picture exists for every item; audio items do not announce it as preview_image.
  if (file === 'cover.svg') return svg(previewImage(item));
  if (file === 'preview.svg' && item.kind !== 'audio') return svg(previewImage(item));
  if (file === 'preview.webm' && item.kind === 'video') {
    return { type: 'video/webm', content: previewVideo() };
  }
  if (file === 'preview.wav' && item.kind === 'audio') {
    return { type: 'audio/wav', content: previewAudio(item.id) };
  }
  const number = Number(/^screenshot-(\d{1,2})\.svg$/.exec(file)?.[1] ?? 0);
  return number >= 1 && number <= item.screenshots ? svg(screenshot(item, number)) : undefined;
}

function personFile(name: string, file: string): MediaFile | undefined {
  if (file === 'picture.svg' || file === 'avatar.svg') return svg(portrait(name));
  return file === 'cover.svg' ? svg(cover(name)) : undefined;
}

/** Pictures, sounds and clips of items, users, accounts and apps, all made by the sandbox itself. */
export function mediaRouter({ data }: SandboxContext): Router {
  const router = express.Router();
  const serve =
    (find: (id: string, file: string) => MediaFile | undefined) =>
    (req: Request<{ id: string; file: string }>, res: Response): void => {
      const found = find(req.params.id, req.params.file);
      if (found) {
        sendFile(req, res, found.type, found.content);
        return;
      }
      res.statusCode = 404;
      res.setHeader('Content-Type', 'text/plain; charset=utf-8');
      res.end('There is no such file.\n');
    };

  router.get(
    '/media/items/:id/:file',
    serve((id, file) => {
      const item = data.items.find((candidate) => String(candidate.id) === id);
      return item && itemFile(item, file);
    }),
  );
  router.get(
    '/media/users/:id/:file',
    serve((id, file) => {
      const user = data.users.find((candidate) => candidate.user_id === id);
      return user && personFile(user.user_name, file);
    }),
  );
  router.get(
    '/media/accounts/:id/:file',
    serve((id, file) => {
      const workspace = data.workspaces.find((candidate) => candidate.id === id);
      return workspace && personFile(workspace.username, file);
    }),
  );
  router.get(
    '/media/apps/:id/:file',
    serve((id, file) => {
      const app = data.apps.find((candidate) => candidate.app_id === id);
      return app && file === 'icon.svg' ? svg(appIcon(app.name)) : undefined;
    }),
  );
  router.get('/media/mark.svg', (req, res) => sendFile(req, res, SVG, MARK));
  return router;
}
