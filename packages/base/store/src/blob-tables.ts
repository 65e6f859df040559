/** Files that the nodes of a cluster share, by their content. Part of the store port. */
export interface BlobReads {
  /** The content; null if it is not stored. */
  get(sha256: string): Promise<Buffer | null>;
}

export interface BlobTable extends BlobReads {
  /** Ignored if the content is stored. */
  put(sha256: string, data: Buffer, at: number): Promise<void>;
}
