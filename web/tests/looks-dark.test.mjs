// The page in its dark theme.

import { lookAtEverything } from './looks.mjs';

lookAtEverything('dark');
