#include "check/check.h"
namespace acuity::check { void check_cambi(Session&) {} }
