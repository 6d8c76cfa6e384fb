// Who the person is: a name asked once and kept on this device, until there are accounts.
const KEY = 'citywise-user';

export const NAME = '[A-Za-z0-9][A-Za-z0-9_.:\\-]{0,63}';

class User extends EventTarget {
  /** The name, or null. */
  get id() {
    const kept = localStorage.getItem(KEY);
    return kept && new RegExp(`^${NAME}$`).test(kept) ? kept : null;
  }

  set id(name) {
    if (name) localStorage.setItem(KEY, name);
    else localStorage.removeItem(KEY);
    this.dispatchEvent(new Event('change'));
  }
}

export const user = new User();
