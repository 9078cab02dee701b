public import Bothy
import Foundation

/// Entities as an app writes them, in the shapes that the macro must support.
enum Priority: Int, FieldConvertible {
  case low, normal, high
}

enum Mood: String, FieldConvertible, CaseIterable {
  case calm, busy
}

struct Address: Codable, JSONField, Hashable {
  var street: String
  var number = 1
}

@Entity struct Stop: Hashable, Codable {
  var name: String
}

@Entity struct TodoList: Hashable {
  @UniqueValue var name: String
  var parent: Reference<TodoList>?
  var favourites: [Reference<Todo>] = []
}

@Entity("todo") struct Todo: Hashable {
  @FullText var title: String
  var done = false
  @Indexed @Named("due_at") var due: Date?
  @OnDelete(.cascade) var list: Reference<TodoList>?
  @Merge(.counter) var views = 0
  var priority: Priority = .normal
  @Sensitive var secret: String?
  @NotStored var isSelected = false
  var created = Date()

  var isUrgent: Bool { priority == .high && !done }
  static let limit = 10
}

@Entity struct Night: Hashable {
  @Indexed(with: "beds", where: "beds > 1") @UniqueValue(with: "day_number") var hut: String
  @Named("day_number") var day = 0
  var beds = 1
}

@Entity struct Trip: Hashable {
  var name: String
  @Indexed var start: Coordinate?
}

/// Every kind of field, each also as an optional.
@Entity struct Everything: Hashable {
  var flag: Bool
  var count: Int
  var wide: Int64
  var ratio: Double
  var text: String
  var date: Date
  var uuid: UUID
  var data: Data
  var place: Coordinate
  var mood: Mood
  var address: Address
  var blob: Blob
  @OnDelete(.deny) var todo: Reference<Todo>
  var todos: [Reference<Todo>]
  var maybeFlag: Bool?
  var maybeCount: Int?
  var maybeWide: Int64?
  var maybeRatio: Double?
  var maybeText: String?
  var maybeDate: Date?
  var maybeUUID: UUID?
  var maybeData: Data?
  var maybePlace: Coordinate?
  var maybeMood: Mood?
  var maybeAddress: Address?
  var maybeBlob: Blob?
  var maybeTodo: Reference<Todo>?
  var maybeTodos: [Reference<Todo>]?
}

/// Every form of initial value.
@Entity(.local) struct Defaults: Hashable {
  var flag = true
  var count = -3
  var ratio = 2.5
  var lifetime: Int = (7 + 1) * 86_400
  var text = "as \"new\""
  var priority: Priority = Priority.high
  var mood: Mood? = .busy
  var address: Address = Address(street: "High Street", number: 7)
  var place: Coordinate = .init(latitude: 57, longitude: -4.5)
  var epoch: Date = Date(timeIntervalSince1970: 0)
  var token = UUID()
  var stamp: Date = .now
  var links: [Reference<Todo>] = []
}

/// An entity visible outside its module, with less visible parts.
@Entity(
  "account", remoteOnly: true,
  permissions: Permissions(read: .owner, delete: .nobody))
public struct Account {
  public let id: String
  public let email: String
  public private(set) var score = 0
  var note: String?
  private var attempts = 0
  public var `default` = false { didSet { attempts += 1 } }

  public func countedAttempts() -> Int { attempts }
}

/// An entity with its own initialiser in place of the memberwise one.
@Entity struct Tag {
  let name: String

  init(_ name: String) { self.name = name.lowercased() }
}

/// Types that only the enclosing scope declares, and names that collide with those of the expansion.
public enum Travel {
  enum Mode: String, FieldConvertible { case foot, ferry }

  @Entity("journey") struct Trip: Hashable {
    var mode: Mode = .ferry
    var from, to: String
    var fields: String = ""
    var isLocked: Bool = false, isShared: Bool
    var encode: Kind?

    enum Kind: Int, FieldConvertible { case day, night }
  }
}

public extension Travel {
  @Entity struct Port {
    var name: String
  }
}

/// An entity with a closure, and with a date that is named with its module.
@Entity struct Alarm {
  var title: String
  var made: Date = Foundation.Date()
  @NotStored var ring: @Sendable (String) -> String = { $0 }
}

@Entity struct Empty {}

@available(macOS 15, *)
@Bothy.Entity("later") struct Later {
  @Bothy.Indexed @Bothy.UniqueValue var code: Swift.String
}
