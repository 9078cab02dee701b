import BothyStore
import BothySyncService
import HTTPTypes

/// The routes of queries. A query is the Query document that tools and stores use too.
extension ServerServices {
  func queryRoutes() -> [Route] {
    [
      Route(
        method: .post, pattern: "/v1/spaces/{space}/query", operation: "query",
        summary: "The live records that a query selects, in its order, at most as many as a page holds.",
        isQuery: true, body: .init(schema: "Query"),
        answers: [.init(status: 200, about: "The records.", schema: "Records")], problems: [422],
        handle: query),
      Route(
        method: .post, pattern: "/v1/spaces/{space}/count", operation: "count",
        summary: "The number of live records that a query selects, whatever its limit.",
        isQuery: true, body: .init(schema: "Query"),
        answers: [.init(status: 200, about: "The number.", schema: "Count")], problems: [422],
        handle: count),
    ]
  }

  private func query(_ call: ServerContext) async throws -> ServerResponse {
    let (query, cursor) = try queryDocument(call)
    let page = try await service(within: call.room).queryPage(
      space: call.space, user: call.user, query, after: cursor)
    return ServerResponse.object { writer in
      writer.array("records", page.records) { $1.write(to: &$0) }
      if let next = page.next { writer.member("next", next) }
      if page.more { writer.member("more", true) }
    }
  }

  private func count(_ call: ServerContext) async throws -> ServerResponse {
    let (query, _) = try queryDocument(call)
    let count = try await service.count(space: call.space, user: call.user, query)
    return ServerResponse.object { $0.member("count", count) }
  }

  /// Returns the query of a request, and the cursor after which its answer begins.
  private func queryDocument(_ call: ServerContext) throws -> (AnyQuery, cursor: String?) {
    var document = try call.parseBody { try JSONValue(parsing: $0) }
    let type = document["type"]?.stringValue ?? ""
    var cursor: String?
    if var members = document.objectValue, let after = members.removeValue(forKey: "after") {
      guard let token = after.stringValue else {
        throw BothyError(
          .invalidQuery, "The member 'after' of the query must be the 'next' of a page before.")
      }
      cursor = token
      document = .object(members)
    }
    return (try AnyQuery(json: document, schema: service.rules.schema(for: type)), cursor)
  }
}
