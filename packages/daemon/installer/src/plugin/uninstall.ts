/** Uninstalls a plugin: removes it and the unchanged additions of its install, and its data only on request. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { exists } from "@aegis/lib/files.ts";
import type { LockEntry } from "../lockfile.ts";
import { packageFolder } from "../place.ts";
import { Additions } from "./additions.ts";
import { dependentsWithout, entryOf, manifestOf } from "./kind.ts";
import { findScript } from "./script.ts";
import type { PluginInstallerOptions, Transaction, Transactions } from "./transaction.ts";

export type UninstalledPlugin = {
  name: string;
  /** What stayed in the project's files, with the reason. */
  kept: string[];
  /** Where its data still is; null if there is none. */
  data: string | null;
};

export type UninstallOptions = {
  /** Delete the plugin's data too. */
  purge: boolean;
  /** Continue if the plugin's script fails or other plugins require it. */
  force: boolean;
};

export async function uninstall(
  transactions: Transactions,
  options: PluginInstallerOptions,
  name: string,
  how: UninstallOptions,
): Promise<UninstalledPlugin> {
  const { place, person, dataDir, config } = options;
  return transactions.run(async (transaction) => {
    const { plan, workspace, installed } = transaction;
    const entry = entryOf(installed, name);
    const dir = join(place.root, packageFolder(place, "plugin", name));
    const needing = await dependentsWithout(transactions.folder, name, null);
    if (needing.length > 0 && !how.force)
      throw new AegisError("conflict", `other plugins need it: ${needing.join(", ")}`, {
        hint: "uninstall them first, or use --force",
      });
    await transactions.agree(name, `Uninstall ${name} ${entry.version}?`, { hash: entry.hash, findings: [] });
    const additions = new Additions(plan, config, entry.added);
    if (await exists(dir))
      await runUninstallScript(transactions, transaction, options, { name, dir, entry, additions, ...how });
    await transactions.at("script");
    const kept = await additions.takeBack();
    const data = dataDir(name);
    // The daemon creates the folder; an empty one needs no question.
    const hasData = (await readdir(join(place.root, data)).catch(() => [])).length > 0;
    const purge = hasData && (how.purge || (await person.confirm(`Delete the data of ${name} too (${data})?`, false)));
    await transactions.packages.commit(place, {
      workspace,
      plan,
      folder: name,
      action: "uninstall",
      swaps: purge ? [{ target: data, prepared: null }] : [],
      entry: async () => {
        await config.check(plan);
        return null;
      },
    });
    return { name, kept, data: hasData && !purge ? data : null };
  });
}

async function runUninstallScript(
  transactions: Transactions,
  transaction: Transaction,
  { trust, person }: PluginInstallerOptions,
  run: UninstallOptions & { name: string; dir: string; entry: LockEntry; additions: Additions },
): Promise<void> {
  const { name, dir, entry, additions } = run;
  const script = await findScript(dir, "uninstall");
  if (script === null) return;
  const verdict = await trust.mayRun({ name, dir });
  if (!verdict.allowed) {
    person.warn(`the plugin's own clean-up is not run: ${verdict.message}`);
    return;
  }
  try {
    const manifest = await manifestOf(dir);
    await transactions.script(transaction, script, {
      name,
      action: "uninstall",
      dir,
      previous: entry.version,
      purge: run.purge,
      manifest,
      additions,
    });
  } catch (error) {
    if (!run.force || !isAegisError(error)) throw error;
    person.warn(`${error.message}; continuing because of --force`);
  }
}
