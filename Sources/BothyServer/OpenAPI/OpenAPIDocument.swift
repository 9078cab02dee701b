import BothyStore
import BothySyncService
import HTTPTypes

/// Builds the OpenAPI 3.1 document from the routes themselves.
enum OpenAPIDocument {
  /// Returns the route of the document, which describes the other routes and itself.
  static func route(describing routes: [Route]) -> Route {
    var route = Route(
      method: .get, pattern: "/openapi.json", operation: "openapi", summary: "This document.", isOpen: true,
      answers: [.init(status: 200, about: "An OpenAPI 3.1 document.", schema: "OpenAPI")],
      handle: { _ in ServerResponse(.notFound) })
    let document = json(routes + [route])
    route.handle = { _ in .json(document) }
    return route
  }

  static func json(_ routes: [Route]) -> [UInt8] {
    var paths: [String: JSONValue] = [:]
    for route in routes {
      let path = route.pattern.replacing("...}", with: "}")
      var methods = paths[path]?.objectValue ?? [:]
      methods[route.method.rawValue.lowercased()] = operation(route)
      paths[path] = .object(methods)
    }
    let document: JSONValue = [
      "openapi": "3.1.0",
      "info": [
        "title": "Bothy", "version": "1",
        "description": .string(about), "license": ["name": "MIT", "identifier": "MIT"],
      ],
      "servers": [["url": "/"]],
      "security": [["bearer": []]],
      "paths": .object(paths),
      "components": [
        "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]],
        "schemas": OpenAPISchemas.all,
        "headers": headers,
      ],
    ]
    var writer = JSONWriter(reserving: 32_768)
    document.write(to: &writer)
    return writer.bytes
  }

  private static let about = """
    Every answer carries X-Request-Id. Names in paths are percent-encoded; a container's path may keep its \
    slashes. HEAD works wherever GET does. Any other method on a known address is answered 405 with Allow, an \
    unknown address 404. Bodies may be sent with Content-Encoding: gzip, and answers above 1 KB come so to \
    those who accept it, except records, whose entity tags are strong. A server without a tokens file requires \
    no token. Tiles belong to no space: any known token opens them, and on a server that gives tiles to everybody \
    none is required. Bothy-File: server/space/principal, each percent-encoded or empty, says whose file sends the \
    request. The addresses of a space refuse another's with 409 otherServer or 403 wrongPrincipal.
    """

  private static func operation(_ route: Route) -> JSONValue {
    var operation: [String: JSONValue] = [
      "operationId": .string(route.operation), "summary": .string(route.summary),
      "responses": .object(responses(route)),
    ]
    let parameters = pathParameters(route) + route.parameters.map(parameter)
    if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
    if route.isOpen { operation["security"] = [] }
    if let body = route.body {
      let content = body.types.map { ($0, JSONValue.object(["schema": reference("schemas", body.schema)])) }
      operation["requestBody"] = [
        "required": true, "content": .object(Dictionary(uniqueKeysWithValues: content)),
      ]
    }
    return .object(operation)
  }

  private static func pathParameters(_ route: Route) -> [JSONValue] {
    route.pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { segment in
      let name = String(segment.dropFirst().prefix { $0 != "}" }).replacing("...", with: "")
      let limits = [
        "space": FixedLimits.spaceName, "type": FixedLimits.typeName, "id": FixedLimits.recordID,
        "path": FixedLimits.containerPath,
      ]
      let schema: JSONValue =
        switch name {
        case "sha256": ["type": "string", "pattern": "^[0-9a-f]{64}$"]
        case "z": ["type": "integer", "minimum": 0, "maximum": 29]
        case "x": ["type": "integer", "minimum": 0]
        case "y": ["type": "string", "pattern": "^[0-9]+(\\.[a-z]+)?$"]
        default: ["type": "string", "minLength": 1, "maxLength": .int(Int64(limits[name] ?? 512))]
        }
      return ["name": .string(name), "in": "path", "required": true, "schema": schema]
    }
  }

  private static func parameter(_ parameter: Route.Parameter) -> JSONValue {
    let schema = try? JSONValue(parsing: parameter.schema)  // a test parses every schema
    return [
      "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
      "required": .bool(parameter.isRequired),
      "description": .string(parameter.about), "schema": schema ?? true,
    ]
  }

  // MARK: responses

  private static let reasons: [Int: String] = [
    400: "The address or the body is malformed; the message says where.",
    401: "A token is needed, or the one sent is not known.",
    403: "The token does not open the space, or the record is not the caller's to do this with.",
    404: "There is nothing that the caller may see.",
    408: "The body came too slowly; the connection ends.",
    409: "The record was changed while the request was carried out.",
    410: "The record was deleted.",
    406: "The tile is packed in a way that the caller does not take and that is not unpacked here.",
    412: "The present state is not one that If-Match or If-None-Match allows.",
    413: "The body, a record, the answer or the number of operations is over the limit.",
    416: "The bytes do not exist; Content-Range says how many there are.",
    415: "The body's type or encoding is not taken.",
    422: "Understood and refused; `fields` names the invalid fields and the reasons.",
    428: "The record exists, so If-Match is required.",
    429: "Too many requests or event streams of this user; see Retry-After.",
    500: "The server failed; its log has the request's id.",
    501: "This server keeps no blobs.",
    507: "The space has no room for the blob.",
    503:
      "The database is busy or cannot be read, the server's disk is full, it is not ready, or changes cannot be decided; see Retry-After.",
  ]

  private static func responses(_ route: Route) -> [String: JSONValue] {
    var responses: [String: JSONValue] = [:]
    for answer in route.answers { responses[String(answer.status)] = response(answer) }
    var problems = Set(route.problems).union([500])
    if !route.isOpen { problems.formUnion([400, 401, 403, 404, 429, 503]) }
    if route.body != nil { problems.formUnion([408, 413, 415]) }
    for status in problems {
      var names: [String] = []
      if status == 401 { names = ["WWW-Authenticate"] }
      if status == 429 || status == 503 { names = ["Retry-After"] }
      if status == 416 { names = ["Content-Range"] }
      if status == 409, route.operation == "uploadBlobPart" { names = ["Upload-Offset"] }
      responses[String(status)] = response(
        .init(status: status, about: reasons[status] ?? "An error.", schema: "Problem", headers: names))
    }
    return responses
  }

  private static func response(_ answer: Route.Documented) -> JSONValue {
    let names = answer.headers + ["X-Request-Id"]
    var response: [String: JSONValue] = [
      "description": .string(answer.about),
      "headers": .object(
        Dictionary(uniqueKeysWithValues: names.map { ($0, reference("headers", $0)) })),
    ]
    if let schema = answer.schema {
      let content = ([answer.type] + answer.otherTypes).map { ($0, reference("schemas", schema)) }
      response["content"] = .object(
        Dictionary(uniqueKeysWithValues: content.map { ($0, ["schema": $1]) }))
    }
    return .object(response)
  }

  private static func reference(_ kind: String, _ name: String) -> JSONValue {
    ["$ref": .string("#/components/\(kind)/\(name)")]
  }

  private static let headers: JSONValue = [
    "Accept-Ranges": ["required": true, "schema": ["const": "bytes"]],
    "Content-Range": ["required": true, "schema": ["type": "string"]],
    "ETag": ["required": true, "schema": ["type": "string"]],
    "Last-Modified": ["required": true, "schema": ["type": "string"]],
    "Location": ["required": true, "schema": ["type": "string"]],
    "Retry-After": ["required": true, "schema": ["type": "integer"]],
    "Upload-Offset": ["required": true, "schema": ["type": "integer", "minimum": 0]],
    "WWW-Authenticate": ["required": true, "schema": ["type": "string"]],
    "X-Request-Id": ["required": true, "schema": ["type": "string"]],
  ]
}
