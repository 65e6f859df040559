/** What differs between the kinds of packages. */
import type { AegisError } from "@aegis/contract/errors.ts";
import type { TreeLimits } from "@aegis/lib/tree-rules.ts";
import type { FetchedPackage } from "./fetch.ts";
import type { PackageKind } from "./place.ts";
import type { PackageSource, SourceContext } from "./source.ts";

export type WantedPackage = {
  source: PackageSource;
  /** The package to install if the source contains several. */
  name: string | null;
  /** The hash of installed files: the same files are not scanned again. */
  installed?: string;
};

type Found<About> = {
  /** The path to copy from. */
  folder: string;
  /** Reads the copy. Throws `invalid` if it cannot be installed. */
  inspect(dir: string): Promise<About>;
};

export interface Kind<About> {
  readonly name: PackageKind;
  /** A larger tree is not accepted. */
  readonly limits: Partial<TreeLimits>;
  /** Names of files and folders that are never part of a package. */
  readonly skip: readonly string[];
  /** Throws `invalid` for text that is no source of this kind. */
  parse(text: string, context: Omit<SourceContext, "grammar">): PackageSource;
  /** Finds the package in the content of its source. Throws `not_found`, or `conflict` if there are several. */
  find(fetched: FetchedPackage, wanted: WantedPackage, signal: AbortSignal): Promise<Found<About>>;
  /** The hash that the lockfile records. */
  hash(dir: string): Promise<string>;
  /** Converts errors of lower layers to API errors. Rethrows unknown errors. */
  problem(error: unknown, source: PackageSource): AegisError;
}
