import type { Handlers } from "./requests.ts";
import type { WebAccess } from "./web/access.ts";

/** What these handlers call. */
export type WebServices = {
  web: WebAccess;
  /** The address that a person's browser uses. */
  webUrl(): Promise<string>;
};

export function webHandlers({ web, webUrl }: WebServices) {
  return {
    async createWebCode() {
      const url = await webUrl();
      const { code, expires_at } = web.newCode();
      return { url: `${url}/#code=${code}`, code, expires_at };
    },
    listBrowsers: () => ({ browsers: web.list() }),
    revokeBrowser: async ({ path }) => ({ browser: await web.revoke(path.browser) }),
  } satisfies Partial<Handlers>;
}
