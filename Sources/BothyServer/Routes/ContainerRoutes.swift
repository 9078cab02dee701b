import BothyStore
import BothySyncService
import HTTPTypes

/// The routes of containers: listings with validators, and digests without the records.
extension ServerServices {
  func containerRoutes() -> [Route] {
    let answers: [Route.Documented] = [
      .init(status: 200, about: "The container.", schema: "Container", headers: ["ETag"]),
      .init(status: 304, about: "Nothing has changed since.", headers: ["ETag"]),
    ]
    return [
      Route(
        method: .get, pattern: "/v1/spaces/{space}/containers", operation: "listContainers",
        summary: "The whole space, container by container.", isQuery: true,
        parameters: [.ifNoneMatch], answers: answers, problems: [413],
        handle: { try await listing($0, .everything) }),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/containers/{path...}", operation: "getContainer",
        summary: "A container: its records' number, its position and validator.",
        isQuery: true, parameters: [.children, .ifNoneMatch], answers: answers, problems: [413],
        handle: { call in
          let scope = SyncScope(
            container: call.names["path"] ?? "", includesChildren: try call.query.flag("children"))
          return try await listing(call, scope)
        }),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/digest", operation: "digest",
        summary: "The number of live records of a scope and the sum of their hashes.",
        isQuery: true, parameters: [.container, .children, .parts],
        answers: [.init(status: 200, about: "The digest.", schema: "Digest")], handle: digest),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/history", operation: "history",
        summary: "Who changed what and when, newest first.", isQuery: true,
        parameters: [.container, .children, .recordType, .recordName, .before, .historyLimit],
        answers: [.init(status: 200, about: "A page of changes.", schema: "History")], handle: history),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/stamps", operation: "stamps",
        summary: "The ids, versions and hashes of the records in some parts of a scope.",
        isQuery: true, parameters: [.container, .children, .parts, .chosenParts],
        answers: [.init(status: 200, about: "The records' stamps.", schema: "Stamps")], problems: [413],
        handle: stamps),
    ]
  }

  /// Responds with the records of a scope. The validator is read before the records. A change in between makes it too
  /// old, never too new.
  private func listing(_ call: ServerContext, _ scope: SyncScope) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let validator = try await service.validator(space: call.space, user: call.user, scope)
    let headers: HTTPFields = [.eTag: "W/\"\(validator)\""]
    guard preconditions.noneMatches(validator) else { return ServerResponse(.notModified, headers: headers) }
    let containers = try await service.containers(space: call.space, user: call.user, scope)
    let count = containers.reduce(0) { $0 + $1.count }
    return ServerResponse.object(headers: headers) { writer in
      writer.member("container", scope.container)
      writer.member("count", count)
      writer.member("position", containers.map(\.position).max() ?? 0)
      writer.member("validator", validator)
      writer.list("containers", containers) { writer, container in
        writer.member("container", container.container)
        writer.member("count", container.count)
        writer.member("position", container.position)
      }
    }
  }

  private func digest(_ call: ServerContext) async throws -> ServerResponse {
    let digest = try await service.digest(
      space: call.space, user: call.user, try call.query.scope(),
      parts: try call.query.positive("parts") ?? 0)
    return ServerResponse.object { digest.writeMembers(to: &$0) }
  }

  private func history(_ call: ServerContext) async throws -> ServerResponse {
    var query = HistoryQuery(scope: try call.query.scope())
    query.before = try call.query.positive("before").map(Int64.init)
    query.limit = try call.query.positive("limit") ?? query.limit
    if let type = call.query["type"], let id = call.query["id"] {
      query.record = RecordID(type: type, id: id)
    }
    let history = try await service.history(space: call.space, user: call.user, query)
    return ServerResponse.object { history.writeMembers(to: &$0) }
  }

  private func stamps(_ call: ServerContext) async throws -> ServerResponse {
    let chosen = try (call.query["in"] ?? "").split(separator: ",").map { text in
      guard let part = Int(text), part >= 0 else {
        throw HTTPFailure.badRequest(
          "The parameter 'in' is a list of part numbers with commas between them.")
      }
      return part
    }
    guard let parts = try call.query.positive("parts"), parts <= SyncService.partLimit else {
      throw HTTPFailure.badRequest("The parameter 'parts' is a number from 1 to \(SyncService.partLimit).")
    }
    let stamps = try await service.stamps(
      space: call.space, user: call.user, try call.query.scope(), parts: parts, in: chosen)
    return ServerResponse.object { $0.array("records", stamps) { $1.write(to: &$0) } }
  }
}
