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

  private func query(_ call: ServerRequest) async throws -> ServerResponse {
    let query = try queryDocument(call)
    let (records, more) = try await service.queryAnswer(
      space: call.space, principal: call.principal, query)
    return ServerResponse.object { writer in
      writer.key("records")
      writer.beginArray()
      for record in records { record.write(to: &writer) }
      writer.endArray()
      if more {
        writer.key("more")
        writer.value(true)
      }
    }
  }

  private func count(_ call: ServerRequest) async throws -> ServerResponse {
    let query = try queryDocument(call)
    let count = try await service.count(space: call.space, principal: call.principal, query)
    return ServerResponse.object { writer in
      writer.key("count")
      writer.value(count)
    }
  }

  private func queryDocument(_ call: ServerRequest) throws -> AnyQuery {
    let document = try call.parseBody { try JSONValue(parsing: $0) }
    let type = document["type"]?.stringValue ?? ""
    return try AnyQuery(json: document, schema: service.rules.schema(for: type))
  }
}
