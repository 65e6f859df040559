/** The places in which packages are installed: the project, and the user's own folder. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { hasLeftovers, recoverWorkspaces } from "@aegis/installer/journal.ts";
import type { InstallPlace, Seal, Signer } from "@aegis/installer/place.ts";
import { stateDir } from "@aegis/lib/daemon-file.ts";
import { makePrivateDir } from "@aegis/lib/files.ts";
import type { UserKey } from "@aegis/lib/user-key.ts";
import { itemKey, pluginParts } from "@aegis/plugins/trust/trust.ts";
import { withLock } from "../config/lock.ts";
import { containedStateDir } from "../state/folder.ts";
import type { ProjectTrust } from "../trust/project-trust.ts";

/** An install may edit the configuration, so it holds the lock of the configuration's writers. */
export function projectPlace(trust: ProjectTrust, key: UserKey): InstallPlace {
  const { root } = trust;
  return {
    scope: "project",
    root,
    base: ".aegis",
    installs: join(stateDir(root), "installs"),
    exclusively: async (work) => withLock(await containedStateDir(root), work),
    signer: journalSigner(key),
    seal: sealWith(trust),
  };
}

/** Only skills are installed here, and they need no trust. */
export async function userPlace(home: string, key: UserKey): Promise<InstallPlace> {
  const folder = join(home, ".aegis");
  await makePrivateDir(folder);
  const root = await realpath(folder);
  const installs = join(root, "installs");
  return {
    scope: "user",
    root,
    base: "",
    installs,
    exclusively: (work) => withLock(installs, work),
    signer: journalSigner(key),
    seal: async () => {},
  };
}

/** Completes or rolls back interrupted installs. Returns descriptions of what was done. Leaves a running install alone. */
export async function settleInstalls(place: InstallPlace): Promise<string[]> {
  if (!(await hasLeftovers(place))) return [];
  try {
    return await place.exclusively(() => recoverWorkspaces(place));
  } catch (error) {
    if (isAegisError(error) && error.code === "conflict") return [];
    throw error;
  }
}

/** Throws `conflict` immediately if another install is running, because that one may be waiting for a person. */
export async function alone<T>({ root, installs }: InstallPlace, work: () => Promise<T>): Promise<T> {
  let started = false;
  await containedStateDir(root);
  try {
    return await withLock(
      join(installs, "locks"),
      () => {
        started = true;
        return work();
      },
      { waitMs: 0 },
    );
  } catch (error) {
    if (started || !isAegisError(error) || error.code !== "conflict") throw error;
    throw new AegisError("conflict", "another install of this project is running", {
      hint: "wait for it to end, then try again",
      cause: error,
    });
  }
}

/** A journal says which files are replaced, so it counts only with the signature of the user who installs. */
function journalSigner(key: UserKey): Signer {
  return {
    sign: (text) => key.sign("install", text),
    verifies: (proof, text) => key.verifies(proof, "install", text),
  };
}

/** Records the user's trust in a plugin once its install is in place, and removes it together with the plugin. */
function sealWith({ store, root }: ProjectTrust): Seal {
  return async ({ plugin, trust }) => {
    if (plugin === undefined) return;
    if (trust !== null) {
      const dir = join(root, ".aegis", "plugins", plugin);
      return store.agree(root, [
        { key: itemKey("plugin", plugin), hash: trust, parts: () => pluginParts({ name: plugin, dir }) },
      ]);
    }
    await store.update(root, ({ at: _, ...project }) => {
      const { [itemKey("plugin", plugin)]: __, ...items } = project.items;
      return { ...project, items, dev: project.dev.filter((name) => name !== plugin) };
    });
  };
}
