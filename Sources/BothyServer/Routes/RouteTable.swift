import HTTPTypes
import Hummingbird

/// All routes, with the rules for addresses that Hummingbird's router doesn't have.
///
/// The router skips empty segments, accepts empty names, and responds to an unknown method as to an unknown path.
struct RouteTable: Sendable {
  let routes: [Route]
  /// The routes of each path, by the path's description.
  private let paths: [String: (path: RouterPath, routes: [Route])]

  private static let unknown = HTTPFailure(
    .notFound, "notFound", "This server has no such address. /openapi.json lists those it has.")

  init(_ routes: [Route]) {
    self.routes = routes
    paths = Dictionary(grouping: routes, by: \.path.description).mapValues { ($0[0].path, $0) }
  }

  /// Returns the route of a request that the router has resolved. HEAD has the routes of GET. Throws 404, or 405 for a
  /// path that has other methods.
  func route(of request: Request, _ context: ServerContext) throws(HTTPFailure) -> Route {
    let slash = UInt8(ascii: "/")
    let path = (request.head.path ?? "").utf8.prefix { $0 != UInt8(ascii: "?") }
    guard path.first == slash, path.last != slash,
      !zip(path, path.dropFirst()).contains(where: { $0 == (slash, slash) }),
      context.parameters.allSatisfy({ !$0.value.isEmpty })
    else { throw Self.unknown }
    let method = request.method == .head ? .get : request.method
    if let found = paths[context.endpointPath ?? ""]?.routes.first(where: { $0.method == method }) {
      return found
    }
    let segments = Substring(path).split(separator: "/")
    guard let others = paths.values.first(where: { Self.matches(segments, $0.path) }) else {
      throw Self.unknown
    }
    throw .methodNotAllowed(others.routes.flatMap { $0.method == .get ? [.get, .head] : [$0.method] })
  }

  private static func matches(_ segments: [Substring], _ path: RouterPath) -> Bool {
    let isLongEnough = path.components.last == .recursiveWildcard && segments.count >= path.count
    return (isLongEnough || segments.count == path.count) && zip(path, segments).allSatisfy { $0 ~= $1 }
  }
}
