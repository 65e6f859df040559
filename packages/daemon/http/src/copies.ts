import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { SessionChanges } from "@aegis/worktrees/changes.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import type { FileClaims } from "@aegis/worktrees/claims/claims.ts";
import type { Landings } from "@aegis/worktrees/landing/landings.ts";
import type { Removal } from "@aegis/worktrees/removal.ts";
import type { Rescues } from "@aegis/worktrees/rescue/rescues.ts";
import type { SessionFiles } from "@aegis/worktrees/session-files.ts";
import type { Worktrees } from "@aegis/worktrees/worktrees.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type CopyServices = {
  sessions: Pick<Sessions, "resolve">;
  changes: Pick<SessionChanges, "of">;
  files: Pick<SessionFiles, "find">;
  worktrees: Pick<Worktrees, "list" | "check">;
  removal: Pick<Removal, "remove">;
  receipts: Pick<ReceiptViews, "list">;
  landings: Pick<Landings, "land" | "list" | "cancel">;
  claims: Pick<FileClaims, "list">;
  rescues: Pick<Rescues, "list" | "show" | "restore" | "prune">;
};

export function copyHandlers(services: CopyServices) {
  const { sessions, changes, files, worktrees, removal, rescues, landings, claims, receipts } = services;
  return {
    listWorktrees: async () => ({ worktrees: await worktrees.list() }),
    async landSession({ path, body }) {
      const session = await sessions.resolve(path.session);
      const { how, check = null, message = null, to = null } = body;
      return { landing: await landings.land(session, { how, check, message, to }) };
    },
    listLandings: async ({ query }) => ({ landings: await landings.list(query) }),
    cancelLanding: async ({ path }) => ({ landing: await landings.cancel(path.landing) }),
    listClaims: async () => ({ claims: await claims.list() }),
    listReceipts: async ({ query }) => ({ receipts: await receipts.list(query.of, query.limit) }),
    async removeWorktree({ path }) {
      const { id } = await sessions.resolve(path.session);
      return { worktree: await removal.remove(id, "a person removed it") };
    },
    listRescues: async () => ({ rescues: await rescues.list() }),
    getRescue: async ({ path }) => ({ rescue: await rescues.show(path.rescue) }),
    restoreRescue: ({ path, body }) => rescues.restore(path.rescue, body.dir),
    pruneRescues: async ({ body }) => ({ dropped: await rescues.prune(body.older_than_ms) }),
    async findFiles({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { files: await files.find(id, query.q, query.limit) };
    },
    getChanges: async ({ path, query }) => ({ changes: await changes.of(await sessions.resolve(path.session), query) }),
  } satisfies Partial<Handlers>;
}
