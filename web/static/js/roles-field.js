// The roles of an account, in a form.
import { t } from './strings.js';
import { tickedField } from './ticked-field.js';

const ROLES = ['user', 'host', 'developer', 'admin'];

export const rolesField = (ticked) =>
  tickedField({ name: 'roles', title: t('accounts.roles'), values: ROLES, key: (role) => `role.${role}`, ticked });
