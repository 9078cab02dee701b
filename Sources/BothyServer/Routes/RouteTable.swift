import HTTPTypes

/// All routes, with the mapping from addresses to routes.
struct RouteTable: Sendable {
  private(set) var routes: [Route]
  private var patterns: [[Segment]]

  private enum Segment: Sendable {
    case literal(String)
    case name(String, end: String)
    case rest(String)
  }

  init(_ routes: [Route]) {
    self.routes = routes
    patterns = routes.map { route in
      route.pattern.split(separator: "/").map { segment in
        guard segment.hasPrefix("{") else { return .literal(String(segment)) }
        let name = segment.dropFirst().prefix { $0 != "}" }
        let end = segment.dropFirst(name.count + 2)
        return name.hasSuffix("...") ? .rest(String(name.dropLast(3))) : .name(String(name), end: String(end))
      }
    }
  }

  enum Match {
    case found(Route, names: [String: Substring])
    case otherMethods([HTTPRequest.Method])
    case none
  }

  /// Returns the route of a path of a request line. Its names are still encoded. HEAD has the routes of GET.
  func match(_ method: HTTPRequest.Method, path: Substring) -> Match {
    guard path.utf8.first == UInt8(ascii: "/") else { return .none }
    let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map(Substring.init)
    let wanted = method == .head ? .get : method
    var others: [HTTPRequest.Method] = []
    for (index, pattern) in patterns.enumerated() {
      guard let names = Self.names(in: segments, by: pattern) else { continue }
      if routes[index].method == wanted { return .found(routes[index], names: names) }
      others.append(routes[index].method)
      if routes[index].method == .get { others.append(.head) }
    }
    return others.isEmpty ? .none : .otherMethods(others)
  }

  private static func names(in segments: [Substring], by pattern: [Segment]) -> [String: Substring]? {
    var names: [String: Substring] = [:]
    for (index, expected) in pattern.enumerated() {
      guard index < segments.count, !segments[index].isEmpty else { return nil }
      switch expected {
      case .literal(let text): guard segments[index] == text else { return nil }
      case .name(let name, let end):
        guard segments[index].hasSuffix(end), segments[index].utf8.count > end.utf8.count else { return nil }
        names[name] = segments[index].dropLast(end.count)
      case .rest(let name):
        guard let last = segments.last, segments[index...].allSatisfy({ !$0.isEmpty }) else { return nil }
        names[name] = segments[index].base[segments[index].startIndex..<last.endIndex]
        return names
      }
    }
    return segments.count == pattern.count ? names : nil
  }
}
