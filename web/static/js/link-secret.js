// What stands behind the # of a link in a letter.

/** The secret in the address of the page, taken out of it. */
export function takeSecret() {
  const secret = location.hash.slice(1);
  // Nobody who looks at this screen, or at where the browser has been, shall use it.
  if (secret) history.replaceState(history.state, '', location.pathname);
  // A link that is opened where its page is open already changes nothing but what stands behind the #.
  addEventListener('hashchange', () => location.hash && location.reload());
  return secret;
}
