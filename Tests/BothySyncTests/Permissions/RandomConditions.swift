import BothyCore
import BothyStore
import BothySyncService
import BothyTesting

/// A record in the model of a server with conditions.
struct ModelDoc: Sendable, Equatable {
  var fields: [String: JSONValue]
  var owner: String?
  var container = "Doc"
  var audience: Set<String> = []
  var version = ""
  /// True for a deleted one, which keeps the rest as it was.
  var isDeleted = false
}

/// A membership in the model.
struct ModelMember: Sendable, Equatable {
  var user: String
  var project: String
  var role: String?
  var version = ""

  func isLinked(to doc: ModelDoc) -> Bool { doc.fields["project"]?.stringValue == project }
}

/// A condition as text, with its meaning in plain Swift.
struct ModelCondition: Sendable {
  typealias Meaning = @Sendable (ModelDoc, Caller, [ModelMember]) -> Bool

  let text: String
  let holds: Meaning

  init(_ text: String, _ holds: @escaping Meaning) {
    self.text = text
    self.holds = holds
  }

  static let states = ["open", "secret", "done"]
  static let names = ["ann", "bob", "cid"]
  static let groups = ["red", "blue"]
  static let projects = ["P", "Q"]

  /// Returns a random condition of at most three levels.
  static func random(_ random: inout SeededGenerator, depth: Int = 0) -> ModelCondition {
    switch Int.random(in: 0..<(depth > 1 ? 7 : 10), using: &random) {
    case 7:
      let (left, right) = (self.random(&random, depth: depth + 1), self.random(&random, depth: depth + 1))
      return ModelCondition("(\(left.text) AND \(right.text))") {
        left.holds($0, $1, $2) && right.holds($0, $1, $2)
      }
    case 8:
      let (left, right) = (self.random(&random, depth: depth + 1), self.random(&random, depth: depth + 1))
      return ModelCondition("(\(left.text) OR \(right.text))") {
        left.holds($0, $1, $2) || right.holds($0, $1, $2)
      }
    case 9:
      let part = self.random(&random, depth: depth + 1)
      return ModelCondition("NOT \(part.text)") { !part.holds($0, $1, $2) }
    case 5, 6: return ofMembers(&random)
    case 3, 4: return ofCaller(&random)
    default: return ofRecord(&random)
    }
  }

  private static func ofRecord(_ random: inout SeededGenerator) -> ModelCondition {
    let state = states.randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      return ModelCondition("state = '\(state)'") { doc, _, _ in doc.fields["state"] == .string(state) }
    case 1:
      return ModelCondition("state != '\(state)'") { doc, _, _ in doc.fields["state"] != .string(state) }
    case 2: return ModelCondition("team IS NULL") { doc, _, _ in doc.fields["team"] == nil }
    case 3:
      return ModelCondition("level < 3") { doc, _, _ in doc.fields["level"]?.intValue.map { $0 < 3 } ?? false
      }
    default: return ModelCondition("container = 'box'") { doc, _, _ in doc.container == "box" }
    }
  }

  private static func ofCaller(_ random: inout SeededGenerator) -> ModelCondition {
    let group = groups.randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return ModelCondition("principal.name IS NOT NULL") { _, user, _ in user.name != nil }
    case 1: return ModelCondition("principal.name = 'ann'") { _, user, _ in user.name == "ann" }
    case 2:
      return ModelCondition("principal.groups INCLUDES '\(group)'") { _, user, _ in
        user.name != nil && user.groups.contains(group)
      }
    case 3:
      return ModelCondition("team IN principal.groups") { doc, user, _ in
        user.name != nil && user.groups.contains(doc.fields["team"]?.stringValue ?? "")
      }
    case 4:
      return ModelCondition("_owner = principal.name") { doc, user, _ in
        user.name != nil && doc.owner == user.name
      }
    case 5:
      return ModelCondition("_owner != principal.name") { doc, user, _ in
        user.name == nil || doc.owner != user.name
      }
    case 6:
      return ModelCondition("readers INCLUDES principal.name") { doc, user, _ in
        user.name.map { doc.fields["readers"]?.arrayValue?.contains(.string($0)) ?? false } ?? false
      }
    default:
      return ModelCondition("audience INCLUDES principal.name") { doc, user, _ in
        user.names.contains(where: doc.audience.contains)
      }
    }
  }

  private static func ofMembers(_ random: inout SeededGenerator) -> ModelCondition {
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      return ModelCondition("EXISTS(Member WHERE user = principal.name)") { _, user, members in
        members.contains { $0.user == user.name }
      }
    case 1:
      return ModelCondition(
        "EXISTS(Member WHERE project = record.project AND user = principal.name AND role != 'reader')"
      ) { doc, user, members in
        members.contains { $0.user == user.name && $0.isLinked(to: doc) && $0.role != "reader" }
      }
    case 2:
      return ModelCondition("EXISTS(Member WHERE user IN principal.groups AND project = record.project)") {
        doc, user, members in
        members.contains { user.name != nil && user.groups.contains($0.user) && $0.isLinked(to: doc) }
      }
    default:
      return ModelCondition("EXISTS(Member WHERE project = record.project AND user = principal.name)") {
        doc, user, members in members.contains { $0.user == user.name && $0.isLinked(to: doc) }
      }
    }
  }
}

/// The random conditions of one history.
struct ModelPermissions: Sendable {
  let create: ModelCondition
  let read: ModelCondition
  let update: ModelCondition
  /// `nil` if `update` decides the result too.
  let become: ModelCondition?
  let delete: ModelCondition
  /// True if the fields of most conditions have indexes.
  var isIndexed = false

  init(_ random: inout SeededGenerator) {
    create = .random(&random)
    read = .random(&random)
    update = .random(&random)
    become = random.chance(50) ? .random(&random) : nil
    delete = .random(&random)
  }

  var schema: StoreSchema {
    let texts = ["state", "team", "project"].map {
      FieldSchema($0, .text, optional: true, indexed: isIndexed)
    }
    return StoreSchema(types: [
      TypeSchema(
        "Doc",
        fields: texts + [
          FieldSchema("level", .int, optional: true), FieldSchema("readers", .json, optional: true),
        ],
        permissions: Permissions(share: .authenticated).where(
          create: create.text, read: read.text, update: update.text, become: become?.text,
          delete: delete.text)),
      TypeSchema(
        "Member",
        fields: [
          FieldSchema("user", .text, indexed: true), FieldSchema("project", .text),
          FieldSchema("role", .text, optional: true),
        ]),
    ])
  }
}
