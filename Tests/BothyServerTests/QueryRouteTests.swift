import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Queries", .timeLimit(.minutes(5)))
struct QueryRouteTests {
  private func fill(_ call: RouteClient) async throws {
    for number in 1...5 {
      let fields = #"{"n":\#(number),"title":"t\#(number % 2)","at":{"lat":\#(number),"lon":0}}"#
      _ = try await call(
        .put, "/v1/spaces/hut/records/Todo/\(number)",
        #"{"container":"c\#(number % 2)","fields":\#(fields)}"#)
    }
    _ = try await call(.delete, "/v1/spaces/hut/records/Todo/5", nil, [.ifMatch: "*"])
    _ = try await call(.put, "/v1/spaces/other/records/Todo/9", #"{"fields":{"n":9}}"#)
  }

  @Test(
    "A query selects live records of its type and space, with or without schema",
    arguments: [
      (#"{"type":"Todo"}"#, ["1", "2", "3", "4"]),
      (#"{"type":"Todo","order":["-n"],"limit":2,"offset":1}"#, ["3", "2"]),
      (#"{"type":"Todo","where":{"field":"n","op":">","value":2}}"#, ["3", "4"]),
      (#"{"type":"Todo","where":{"field":"title","op":"=","value":"t1"},"container":"c1"}"#, ["1", "3"]),
      (#"{"type":"Todo","where":{"field":"id","op":"in","value":["1","4","9"]}}"#, ["1", "4"]),
      (#"{"type":"Todo","where":{"field":"version","op":"=","value":"2"}}"#, ["2"]),
      (#"{"type":"Todo","where":{"near":{"field":"at","lat":2,"lon":0,"metres":1000}}}"#, ["2"]),
      (
        #"{"type":"Todo","order":[{"nearest":{"field":"at","lat":2.9,"lon":0}}],"limit":3}"#, ["3", "2", "4"]
      ),
      (#"{"type":"Todo","order":[{"farthest":{"field":"at","lat":2.9,"lon":0}},"n"],"limit":1}"#, ["1"]),
      (
        #"{"type":"Todo","where":{"inside":{"field":"at","west":179,"south":-90,"east":0,"north":2.5}}}"#,
        ["1", "2"]
      ),
      (#"{"type":"Other"}"#, []),
    ])
  func select(document: String, expected: [String]) async throws {
    let schema = try StoreSchema(
      json: """
        {"version":1,"types":[{"name":"Other","fields":[]},{"name":"Todo","fields":[
        {"name":"n","type":"int"},{"name":"title","type":"string","optional":true},
        {"name":"at","type":"coordinate","optional":true}]}]}
        """)
    for rules in [AccessRules(), AccessRules(schema: schema)] {
      try await ServerUnderTest(rules: rules).run { call in
        try await fill(call)
        let reply = try await call(.post, "/v1/spaces/hut/query", document)
        #expect(reply.status == 200, "\(reply.text)")
        let ids = try reply.json()["records"]?.arrayValue?.compactMap { $0["id"]?.stringValue }
        #expect(ids == expected)
        let count = try await call(.post, "/v1/spaces/hut/count", document)
        if !document.contains("limit") { #expect(try count.json()["count"] == .int(Int64(expected.count))) }
      }
    }
  }

  @Test("Pages follow each other by their cursors", arguments: [true, false])
  func pages(hasIndex: Bool) async throws {
    let schema = try StoreSchema(
      json: """
        {"version":1,"types":[{"name":"Todo","fields":[{"name":"n","type":"int","indexed":\(hasIndex)},
        {"name":"title","type":"string","optional":true},{"name":"at","type":"coordinate","optional":true}]}]}
        """)
    try await ServerUnderTest(rules: AccessRules(schema: schema)).run { call in
      try await fill(call)
      var ids: [String] = []
      var after = ""
      for page in 1...4 {
        let document = #"{"type":"Todo","order":["-title","-n"],"limit":1\#(after)}"#
        let reply = try await call(.post, "/v1/spaces/hut/query", document)
        #expect(reply.status == 200, "\(reply.text)")
        ids += try reply.json()["records"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
        let next = try reply.json()["next"]?.stringValue
        #expect((next == nil) == (page == 4))
        after = next.map { #","after":"\#($0)""# } ?? ""
      }
      #expect(ids == ["3", "1", "4", "2"])
    }
  }

  @Test("A cursor of another query is 400, one that isn't a text 422")
  func cursors() async throws {
    try await ServerUnderTest().run { call in
      try await fill(call)
      let first = try await call(.post, "/v1/spaces/hut/query", #"{"type":"Todo","limit":1}"#)
      let next = try first.json()["next"]?.stringValue ?? ""
      #expect(!next.isEmpty)
      for (rest, status, code) in [
        (#""type":"Todo","after":"\#(next)""#, 200, nil), (#""type":"Todo","after":"x""#, 400, "badCursor"),
        (#""type":"Todo","container":"c1","after":"\#(next)""#, 400, "badCursor"),
        (#""type":"Todo","after":7"#, 422, "invalidQuery"),
      ] {
        let reply = try await call(.post, "/v1/spaces/hut/query", "{\(rest)}")
        #expect(reply.status == status, "\(reply.text)")
        #expect(try reply.json()["error"]?["code"]?.stringValue == code)
      }
      // A server without a schema doesn't know the order of a field's values.
      let sorted = try await call(.post, "/v1/spaces/hut/query", #"{"type":"Todo","order":["n"],"limit":1}"#)
      #expect(try sorted.json()["records"] != nil && sorted.json()["next"] == nil)
    }
  }

  @Test(
    "A document that isn't a query is 422, text that isn't JSON 400",
    arguments: [
      ("[]", 422), ("{}", 422), (#"{"type":"T","where":{"field":"a","op":"~","value":1}}"#, 422),
      (#"{"type":"T","order":[{"nearest":{"field":"at","lat":90.1,"lon":0}}]}"#, 422),
      (#"{"type":"T","order":[{"nearest":{"field":"a') --","lat":9,"lon":0}}]}"#, 422),
      (#"{"type":"T","where":{"near":{"field":"at","lat":0,"lon":0,"metres":-1}}}"#, 422),
      (#"{"type":"T","limit":-1}"#, 422), (#"{"type":"T","where":{"matches":"x"}}"#, 422), ("{", 400),
      (#"{"type":"T","order":["a') --"]}"#, 422), (#"{"type":"T","order":["a\"'"]}"#, 422),
      (#"{"type":"T","where":{"field":"a'b","op":"=","value":1}}"#, 422),
    ])
  func malformed(document: String, status: Int) async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.post, "/v1/spaces/hut/query", document)
      #expect(reply.status == status, "\(reply.text)")
      #expect(try await call(.post, "/v1/spaces/hut/count", document).status == status)
    }
  }
}
