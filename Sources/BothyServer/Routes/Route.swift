import HTTPTypes
import Hummingbird

/// One operation of the interface: its address, its documentation and its handler.
///
/// The same value routes requests and becomes an entry of `/openapi.json`, so the two can't differ.
struct Route: Sendable {
  var method: HTTPRequest.Method
  /// The segments of the path between slashes. `{name}` matches one segment, `{name}.json` one with this end, and
  /// `{path...}` at the end one or more.
  var pattern: String
  var operation: String
  var summary: String
  /// True if a caller needs no token and isn't limited.
  var isOpen = false
  /// True if the handler reads files, whose number and disk decide how long that takes.
  var readsFiles = false
  /// True if the work may take long and is of no use after the caller has left.
  var isQuery = false
  /// True if the body decides whether the request is a pull or a push.
  var startsAsPull = false
  var parameters: [Parameter] = []
  var body: RequestBody?
  var answers: [Documented]
  /// The statuses of errors beyond those that any route of its kind can have.
  var problems: [Int] = []
  var handle: @Sendable (ServerContext) async throws -> ServerResponse

  /// The name of one or more segments at the end.
  static let rest = "path"
  /// The pattern for Hummingbird's router, which gives such segments no name.
  var path: RouterPath { RouterPath(pattern.replacing("{\(Self.rest)...}", with: "**")) }

  /// The kind of the request's work, as far as it is known before its body is read.
  var kind: RequestKind {
    if isQuery { return .query }
    return method == .get || startsAsPull ? .pull : .push
  }

  struct Parameter: Sendable {
    enum Place: String { case query, header }
    var name: String
    var place: Place
    var schema: String
    var about: String
    var isRequired = false
  }

  struct RequestBody: Sendable {
    /// The name of a component schema.
    var schema: String
    var types = [ServerResponse.jsonType]
  }

  /// A response below 400: its status, the component name of its body's schema, and its fields.
  struct Documented: Sendable {
    var status: Int
    var about: String
    var schema: String?
    var type = ServerResponse.jsonType
    /// The other media types that the body can have.
    var otherTypes: [String] = []
    var headers: [String] = []
  }
}

extension Route.Parameter {
  static let container = Self(
    name: "container", place: .query, schema: #"{"type":"string","maxLength":512}"#,
    about: "The container; without it, the whole space.")
  static let children = Self(
    name: "children", place: .query, schema: #"{"type":"boolean"}"#,
    about: "Whether the containers below count too.")
  static let recordType = Self(
    name: "type", place: .query, schema: #"{"type":"string"}"#,
    about: "With `id`: only changes of this record.")
  static let recordName = Self(
    name: "id", place: .query, schema: #"{"type":"string"}"#,
    about: "With `type`: only changes of this record.")
  static let before = Self(
    name: "before", place: .query, schema: #"{"type":"integer","minimum":1}"#,
    about: "Only changes before this position: `next` of the page before.")
  static let historyLimit = Self(
    name: "limit", place: .query, schema: #"{"type":"integer","minimum":1,"maximum":1000}"#,
    about: "The most changes wanted; 100 unless told.")
  static let parts = Self(
    name: "parts", place: .query, schema: #"{"type":"integer","minimum":1,"maximum":4096}"#,
    about: "Into how many parts the scope is told apart, by FNV-1a of type, zero byte and id.")
  static let chosenParts = Self(
    name: "in", place: .query, schema: #"{"type":"string"}"#,
    about: "The parts wanted, by number from 0, with commas between them.")
  static let ifMatch = Self(
    name: "If-Match", place: .header, schema: #"{"type":"string"}"#,
    about: "Act only if the record has this entity tag; `*` for any.")
  static let ifNoneMatch = Self(
    name: "If-None-Match", place: .header, schema: #"{"type":"string"}"#,
    about: "Act only if the resource is in none of these states; `*` if it must not exist.")
}
