// A real provider of identities for tests: whoever logs in under a name is that person, with the
// groups that the file GROUPS says. Arguments: port, where browsers go back to, GROUPS.
import { readFileSync } from 'node:fs';
import Provider from 'oidc-provider';

const [port, back, groups] = process.argv.slice(2);
const origin = new URL(back).origin;
const client = (id, more = {}) => ({
  client_id: id,
  client_secret: 'a secret of the test',
  redirect_uris: [back],
  post_logout_redirect_uris: [`${origin}/log-in`],
  response_types: ['code'],
  grant_types: ['authorization_code'],
  ...more,
});
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client('citywise'), client('other')],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'groups'] },
  pkce: { required: () => true },
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      name: `${id} Somebody`,
      preferred_username: id,
      groups: JSON.parse(readFileSync(groups, 'utf8'))[id] ?? [],
    }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
