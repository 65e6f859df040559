/** Creates the record of the gates of a project's plugins, for the daemon and for commands that run without one. */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { HookTable } from "@aegis/hooks/hook-table.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { isInside } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { GateEnforcer, type GateNews } from "@aegis/plugins/gates/enforcer.ts";
import { GateStore } from "@aegis/plugins/gates/store.ts";
import { itemKey, pluginHash } from "@aegis/plugins/trust/trust.ts";
import { withLock } from "../config/lock.ts";
import { trustStore } from "../trust/project-trust.ts";

export type BuildGatesOptions = {
  /** The project's real path. */
  root: string;
  env: Environment;
  hooks: HookTable;
  record: (news: GateNews) => void;
  log: Logger;
};

export function gateStore(root: string, env: Environment): GateStore {
  const path = join(homeOf(env), ".aegis", "gates.json");
  return new GateStore({ path, root, exclusive: withLock, now: () => systemClock.now() });
}

export function buildGates({ root, env, hooks, record, log }: BuildGatesOptions): GateEnforcer {
  const home = homeOf(env);
  const trusted = trustStore(home);
  const own = join(home, ".aegis", "plugins");
  return new GateEnforcer({
    store: gateStore(root, env),
    table: hooks,
    hash: ({ name, place }) => pluginHash({ name, dir: place }),
    // `aegis trust --always` covers later changes of a folder, but not gates that judge differently than before.
    async isAgreed({ name, place }, hash) {
      if (isInside(await realpath(own).catch(() => own), await realpath(place))) return true;
      const project = await trusted.project(root);
      return project !== null && (project.dev.includes(name) || project.items[itemKey("plugin", name)] === hash);
    },
    record,
    log,
  });
}
