import Testing

@Suite("The text that @Entity writes", .timeLimit(.minutes(5))) struct EntityExpansionTests {
  @Test("A plain struct expands to the expected text") func plain() {
    expectExpansion(
      """
      @Entity struct Todo {
        var title: String
        var done = false
        var due: Date?
      }
      """,
      """
      struct Todo {
        var title: String
        var done = false
        var due: Date?

        nonisolated var id: String

        nonisolated var readMark = Bothy.ReadMark.whole

        nonisolated init(
          id: String = Bothy.UUIDv7.make(),
          title: String,
          done: Bool = false,
          due: Date? = nil
        ) {
          self.id = id
          self.title = title
          self.done = done
          self.due = due
          self.readMark = Bothy.ReadMark()
        }

        nonisolated static var typeName: String {
          "Todo"
        }

        nonisolated static let schema = Bothy.TypeSchema(
          "Todo",
          fields: [
            .field("title", String.self),
            .field("done", Bool.self, default: false),
            .field("due", Date?.self)
          ]
        )

        nonisolated struct Fields: Sendable {
          var id: Bothy.Field<String> {
            Bothy.Field("id")
          }
          var title: Bothy.Field<String> {
            Bothy.Field("title")
          }
          var done: Bothy.Field<Bool> {
            Bothy.Field("done")
          }
          var due: Bothy.Field<Date?> {
            Bothy.Field("due")
          }
        }

        nonisolated static var fields: Fields {
          Fields()
        }

        nonisolated func encode(to fields: inout Bothy.FieldEncoder) {
          self.title.encodeField(to: &fields)
          self.done.encodeField(to: &fields)
          self.due.encodeField(to: &fields)
        }

        nonisolated init(id: String, from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.id = id
          self.title = try String(fromField: &fields)
          self.done = try Bool(fromField: &fields)
          self.due = try Date?(fromField: &fields)
          self.readMark = fields.readMark
        }
      }

      extension Todo: nonisolated Bothy.Entity {
      }
      """)
  }

  @Test("A public struct with every option expands to the expected text") func options() {
    expectExpansion(
      """
      @available(macOS 16, *)
      @Entity("todo_v2", remoteOnly: true, permissions: Permissions(delete: .owner))
      public struct Todo {
        public let id: String
        @FullText @UniqueValue @Indexed(natural: true) public var title: String
        @Named("due_at") @Indexed @Indexed(with: "views", where: "views > 3") public var due: Date? = nil
        @Merge(.counter) public private(set) var views: Int = 0
        @OnDelete(.cascade) @UniqueValue(with: "due_at", "views") public var list: Reference<TodoList>
        @NotStored public var isOpen = true
        private var state: State = .fresh
      }
      """,
      """
      @available(macOS 16, *)
      public struct Todo {
        public let id: String
        public var title: String
        public var due: Date? = nil
        public private(set) var views: Int = 0
        public var list: Reference<TodoList>
        public var isOpen = true
        private var state: State = .fresh

        nonisolated public var readMark = Bothy.ReadMark.whole

        nonisolated public init(
          id: String,
          title: String,
          due: Date? = nil,
          views: Int = 0,
          list: Reference<TodoList>,
          isOpen: Bool = true
        ) {
          self.id = id
          self.title = title
          self.due = due
          self.views = views
          self.list = list
          self.isOpen = isOpen
          self.readMark = Bothy.ReadMark()
        }

        nonisolated public static var typeName: String {
          "todo_v2"
        }

        nonisolated public static let schema = Bothy.TypeSchema(
          "todo_v2",
          fields: [
            .field("title", String.self, unique: true, fullText: true, natural: true),
            .field("due_at", Date?.self, indexed: true),
            .field("views", Int.self, default: 0, merge: .counter),
            .field("list", Reference<TodoList>.self, onDelete: .cascade),
            .field("state", State.self, default: .fresh as State)
          ],
          remoteOnly: true,
          permissions: Permissions(delete: .owner)
        ).indexed(by: "due_at", "views", where: "views > 3").indexed(by: "list", "due_at", "views", unique: true)

        nonisolated public struct Fields: Sendable {
          public var id: Bothy.Field<String> {
            Bothy.Field("id")
          }
          public var title: Bothy.Field<String> {
            Bothy.Field("title")
          }
          public var due: Bothy.Field<Date?> {
            Bothy.Field("due_at")
          }
          public var views: Bothy.Field<Int> {
            Bothy.Field("views")
          }
          public var list: Bothy.Field<Reference<TodoList>> {
            Bothy.Field("list")
          }
        }

        nonisolated public static var fields: Fields {
          Fields()
        }

        nonisolated public func encode(to fields: inout Bothy.FieldEncoder) {
          self.title.encodeField(to: &fields)
          self.due.encodeField(to: &fields)
          self.views.encodeField(to: &fields)
          self.list.encodeField(to: &fields)
          self.state.encodeField(to: &fields)
        }

        nonisolated public init(id: String, from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.id = id
          self.title = try String(fromField: &fields)
          self.due = try Date?(fromField: &fields)
          self.views = try Int(fromField: &fields)
          self.list = try Reference<TodoList>(fromField: &fields)
          self.state = try State(fromField: &fields)
          self.readMark = fields.readMark
        }
      }

      @available(macOS 16, *)
      extension Todo: nonisolated Bothy.Entity {
      }
      """, macros: entityMacro.merging(markerMacros) { left, _ in left })
  }

  @Test("A struct with an id, an initialiser and other members expands as expected") func otherMembers() {
    expectExpansion(
      """
      @Entity(.local) struct Note {
        var id = UUIDv7.make()
        var text, tag: String
        var isEmpty: Bool { text.isEmpty }
        var count: Int { get { text.count } set {} }
        static let limit = 3
        var `default`: Int = 2 { didSet {} }
        @NotStored lazy var words = text.split(separator: " ")
        @NotStored let rank = 1
        init(text: String) { self.text = text }
        func shout() {}
      }
      """,
      """
      struct Note {
        var id = UUIDv7.make()
        var text, tag: String
        var isEmpty: Bool { text.isEmpty }
        var count: Int { get { text.count } set {} }
        static let limit = 3
        var `default`: Int = 2 { didSet {} }
        @NotStored lazy var words = text.split(separator: " ")
        @NotStored let rank = 1
        init(text: String) { self.text = text }
        func shout() {}

        nonisolated var readMark = Bothy.ReadMark()

        nonisolated static var typeName: String {
          "Note"
        }

        nonisolated static let schema = Bothy.TypeSchema(
          "Note",
          fields: [
            .field("text", String.self),
            .field("tag", String.self),
            .field("default", Int.self, default: 2)
          ],
          synced: false
        )

        nonisolated struct Fields: Sendable {
          var id: Bothy.Field<String> {
            Bothy.Field("id")
          }
          var text: Bothy.Field<String> {
            Bothy.Field("text")
          }
          var tag: Bothy.Field<String> {
            Bothy.Field("tag")
          }
          var `default`: Bothy.Field<Int> {
            Bothy.Field("default")
          }
        }

        nonisolated static var fields: Fields {
          Fields()
        }

        nonisolated func encode(to fields: inout Bothy.FieldEncoder) {
          self.text.encodeField(to: &fields)
          self.tag.encodeField(to: &fields)
          self.`default`.encodeField(to: &fields)
        }

        nonisolated init(id: String, from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.id = id
          self.text = try String(fromField: &fields)
          self.tag = try String(fromField: &fields)
          self.`default` = try Int(fromField: &fields)
          self.readMark = fields.readMark
        }
      }

      extension Note: nonisolated Bothy.Entity {
      }
      """)
  }

  @Test("A closure with attributes is an escaping parameter") func closure() {
    expectExpansion(
      """
      @Entity(.local) struct Alarm {
        @NotStored var ring: @Sendable () -> Void = keepSilent
      }
      """,
      """
      struct Alarm {
        @NotStored var ring: @Sendable () -> Void = keepSilent

        nonisolated var id: String

        nonisolated var readMark = Bothy.ReadMark.whole

        nonisolated init(
          id: String = Bothy.UUIDv7.make(),
          ring: @escaping @Sendable () -> Void = keepSilent
        ) {
          self.id = id
          self.ring = ring
          self.readMark = Bothy.ReadMark()
        }

        nonisolated static var typeName: String {
          "Alarm"
        }

        nonisolated static let schema = Bothy.TypeSchema(
          "Alarm",
          fields: [],
          synced: false
        )

        nonisolated struct Fields: Sendable {
          var id: Bothy.Field<String> {
            Bothy.Field("id")
          }
        }

        nonisolated static var fields: Fields {
          Fields()
        }

        nonisolated func encode(to fields: inout Bothy.FieldEncoder) {
        }

        nonisolated init(id: String, from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.id = id
          self.readMark = fields.readMark
        }
      }

      extension Alarm: nonisolated Bothy.Entity {
      }
      """)
  }
}
