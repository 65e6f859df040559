/** A place in which packages are installed: a project, or the folder of the user's own packages. */
import { join } from "node:path";

export type PackageKind = "plugin" | "skill";

/** The change of one package, as the journal records it. Exactly one of `plugin` and `skill` is set. */
export type Decision = {
  plugin?: string | undefined;
  skill?: string | undefined;
  action: string;
  /** The trusted content; null if the package is removed or needs no trust. */
  trust: string | null;
};

/** Called once the changes are in place, also on recovery after a kill. Must be idempotent. */
export type Seal = (decision: Decision) => Promise<void>;

export type Signer = { sign(text: string): string; verifies(proof: unknown, text: string): boolean };

export type InstallPlace = {
  scope: "project" | "user";
  /** The real path of the folder that the journal may change. */
  root: string;
  /** The folder of the packages and of the lockfile, relative to the root. */
  base: string;
  /** The absolute path of the folder for prepared changes. It is on the root's file system, so that a move is atomic. */
  installs: string;
  /** Runs `work` while no other process changes the packages or the settings of this place. */
  exclusively: <T>(work: () => Promise<T>) => Promise<T>;
  /** Signs journals and verifies its own signatures. */
  signer: Signer;
  seal: Seal;
};

/** The folder of all packages of a kind, relative to the root. */
export function packagesFolder({ base }: Pick<InstallPlace, "base">, kind: PackageKind): string {
  return join(base, `${kind}s`);
}

/** The folder of one package, relative to the root. */
export function packageFolder(place: Pick<InstallPlace, "base">, kind: PackageKind, name: string): string {
  return join(packagesFolder(place, kind), name);
}
