/**
 * Proof that a program may start now. Starting a child process or a plugin worker requires a consent, and each consent
 * is valid for one start. Trust is therefore checked before every start.
 *
 * Only the modules listed in `test/architecture.test.ts` may import this class as a value; other modules import its
 * type.
 */
export class Consent {
  /** The program that may start, for logs and errors. */
  readonly what: string;
  #spent = false;

  private constructor(what: string) {
    this.what = what;
  }

  /** Called by the trust check for project content, and by `own-consent.ts` for Aegis's own programs. */
  static grant(what: string): Consent {
    return new Consent(what);
  }

  /** Marks the consent as used. Throws if it was used before or is not a real `Consent`. */
  static spend(consent: Consent): void {
    if (typeof consent !== "object" || consent === null || !(#spent in consent))
      throw new TypeError("a program cannot start without a proof of consent");
    if (consent.#spent)
      throw new TypeError(`the consent for ${consent.what} was used before; each start needs a new one`);
    consent.#spent = true;
  }
}
