// The web page of `trine serve`, one file without assets of elsewhere.
#pragma once

namespace trine::cli {

const char* page_html();

}  // namespace trine::cli
