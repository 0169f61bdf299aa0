// The page in its light theme.

import { lookAtEverything } from './looks.mjs';

lookAtEverything('light');
