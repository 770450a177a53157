import type { SandboxDialect } from '../dialect.js';

type Language = 'tr' | 'de';

const WORDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  tr: {
    success: 'başarılı',
    error: 'hata',
    'invalid request': 'Geçersiz istek',
    'no items found': 'Hiçbir öğe bulunamadı',
    'item not found': 'Öğe bulunamadı',
    'invalid purchase code': 'Geçersiz satın alma kodu',
    regular: 'Normal',
    extended: 'Genişletilmiş',
  },
  de: {
    success: 'erfolgreich',
    error: 'Fehler',
    'invalid request': 'Ungültige Anfrage',
    'no items found': 'Keine Artikel gefunden',
    'item not found': 'Artikel nicht gefunden',
    'invalid purchase code': 'Ungültiger Kaufcode',
    regular: 'Standard',
    extended: 'Erweitert',
  },
};

const ANY_OTHER: Readonly<Record<Language, string>> = {
  tr: 'Gönderilen veriler geçerli değil.',
  de: 'Die gesendeten Daten sind nicht gültig.',
};

/** The language the `localised` switch stands for; `true` is Turkish. */
const languageOf = ({ localised }: SandboxDialect): Language | undefined =>
  localised === true ? 'tr' : localised === false ? undefined : localised;

const word = (text: string, dialect: SandboxDialect): string | undefined => {
  const language = languageOf(dialect);
  return language && WORDS[language][text.toLowerCase()];
};

/** `status` in the language of the dialect. */
export const localisedStatus = (status: 'success' | 'error', dialect: SandboxDialect): string =>
  word(status, dialect) ?? status;

/** `msg` in the language of the dialect; a sentence without a translation of its own gets a general one. */
export function localisedMsg(msg: string, dialect: SandboxDialect): string {
  const language = languageOf(dialect);
  return word(msg, dialect) ?? (language ? ANY_OTHER[language] : msg);
}

/** `license_type` in the language of the dialect; labels of a seed of one's own stay as they are. */
export const localisedLicense = (license: string, dialect: SandboxDialect): string =>
  word(license, dialect) ?? license;
