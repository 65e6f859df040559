/** Takes a plugin away again: with what its install added and nobody has changed, and never its data unasked. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AegisError, isAegisError } from "../../../contract/errors.ts";
import { exists } from "../../../lib/files.ts";
import type { FolderSwap } from "./journal.ts";
import { entryOf, formatLock, type LockEntry, lockFile } from "./lockfile.ts";
import { Additions } from "./project-config.ts";
import { findScript } from "./script.ts";
import { dependentsWithout, manifestOf } from "./staging.ts";
import { type InstallerOptions, pluginsFolder, type Transaction, type Transactions } from "./transaction.ts";

export type Uninstalled = {
  name: string;
  /** What was left in the project's files, with the reason. */
  kept: string[];
  /** Where its data still is; null when there is none. */
  data: string | null;
};

export type UninstallOptions = {
  /** Delete the plugin's data too. */
  purge: boolean;
  /** Go on when the plugin's own script fails, or others need it. */
  force: boolean;
};

export async function uninstall(
  transactions: Transactions,
  options: InstallerOptions,
  name: string,
  how: UninstallOptions,
): Promise<Uninstalled> {
  const { root, person, dataDir, config } = options;
  return transactions.run(async (transaction) => {
    const { plan, lock } = transaction;
    const entry = entryOf(lock, name);
    const target = join(pluginsFolder, name);
    const there = await exists(join(root, target));
    const needing = await dependentsWithout(join(root, pluginsFolder), name, null);
    if (needing.length > 0 && !how.force)
      throw new AegisError("conflict", `other plugins need it: ${needing.join(", ")}`, {
        hint: "uninstall them first, or use --force",
      });
    await transactions.agree(`Uninstall ${name} ${entry.version}?`);
    const additions = new Additions(plan, config, entry.added);
    if (there) await runUninstallScript(transactions, transaction, options, { name, entry, additions, ...how });
    await transactions.at("script");
    const kept = await additions.takeBack();
    const { [name]: _, ...others } = lock;
    await plan.write(lockFile, formatLock(others));
    const data = dataDir(name);
    // The daemon makes the folder; one that the plugin never used is nothing to ask about.
    const hasData = (await readdir(join(root, data)).catch(() => [])).length > 0;
    const purge = hasData && (how.purge || (await person.confirm(`Delete the data of ${name} too (${data})?`, false)));
    const swaps: FolderSwap[] = [
      ...(there ? [{ target, prepared: null }] : []),
      ...(purge ? [{ target: data, prepared: null }] : []),
    ];
    await transactions.commit(transaction, { plugin: name, action: "uninstall", trust: null }, swaps);
    return { name, kept, data: hasData && !purge ? data : null };
  });
}

async function runUninstallScript(
  transactions: Transactions,
  transaction: Transaction,
  { root, trust, person }: InstallerOptions,
  run: UninstallOptions & { name: string; entry: LockEntry; additions: Additions },
): Promise<void> {
  const { name, entry, additions } = run;
  const dir = join(root, pluginsFolder, name);
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
    person.warn(`${error.message}; going on, because of --force`);
  }
}
