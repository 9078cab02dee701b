import BothyStore
import BothySync

/// Routes for queries, which come as a Query document.
extension ServerParts {
  func queryRoutes() -> [Route] { [] }
}
