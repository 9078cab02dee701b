import BothyCache
import Testing

@Suite("Decisions of a read", .timeLimit(.minutes(5)))
struct ReadPlanTests {
  private static let states: [EntryState.State?] = [nil] + EntryState.State.allCases.map { $0 }

  private func plan(_ policy: ReadPolicy, _ state: EntryState.State?, _ hasNetwork: Bool) -> ReadPlan {
    let stored = state.map {
      EntryState(state: $0, age: 0, freshFor: $0 == .fresh ? 1 : -1, origin: .rule, isImmutable: false)
    }
    return ReadPlan(policy, stored: stored, hasNetwork: hasNetwork)
  }

  @Test("A read of the cache alone sends no request and marks stale entries", arguments: [true, false])
  func local(hasNetwork: Bool) {
    #expect(plan(.local, nil, hasNetwork) == .fail(.notCached))
    #expect(plan(.local, .fresh, hasNetwork) == .serve(nil))
    for state in [EntryState.State.staleWhileRevalidate, .staleIfError, .stale, .mustRevalidate] {
      #expect(plan(.local, state, hasNetwork) == .serve(.notChecked))
    }
  }

  @Test("Only fresh entries are returned as fresh, in every policy, state and network")
  func neverPassedOff() {
    for policy in ReadPolicy.allCases {
      for state in Self.states {
        for hasNetwork in [true, false] where plan(policy, state, hasNetwork) == .serve(nil) {
          #expect(state == .fresh, "\(policy), \(hasNetwork)")
        }
      }
    }
  }

  @Test("Without a network no request is sent")
  func noNetwork() {
    for policy in ReadPolicy.allCases {
      for state in Self.states {
        switch plan(policy, state, false) {
        case .request, .serveAndRefresh: Issue.record("\(policy) asks with \(String(describing: state))")
        case .serve, .fail: continue
        }
      }
    }
    #expect(plan(.localElseRemote, .staleIfError, false) == .serve(.noNetwork))
    #expect(plan(.remoteElseLocal, .staleIfError, false) == .serve(.noNetwork))
    #expect(plan(.localElseRemote, .mustRevalidate, false) == .fail(.offline))
    #expect(plan(.localThenRemote, .mustRevalidate, false) == .serve(.noNetwork))
    #expect(ReadPlan(.remote, stored: nil, hasNetwork: false, ignoresStored: true) == .fail(.offline))
    #expect(plan(.remote, .fresh, false) == .fail(.offline))
  }

  @Test("With a network each policy sends the requests it promises")
  func network() {
    let both = ReadPlan.request(isConditional: true, mayFallBack: true)
    let bound = ReadPlan.request(isConditional: true, mayFallBack: false)
    let plain = ReadPlan.request(isConditional: false, mayFallBack: false)
    for policy in ReadPolicy.allCases where policy != .local {
      #expect(plan(policy, nil, true) == plain, "\(policy)")
    }
    #expect(plan(.localElseRemote, .fresh, true) == .serve(nil))
    #expect(plan(.localElseRemote, .staleWhileRevalidate, true) == .serveAndRefresh)
    #expect(plan(.localElseRemote, .staleIfError, true) == both)
    #expect(plan(.localElseRemote, .mustRevalidate, true) == bound)
    for state in EntryState.State.allCases {
      let use = EntryState(state: state, age: 0, freshFor: 0, origin: .maxAge)
      let atOnce = ReadPlan(.localElseRemote, stored: use, hasNetwork: true, isAtOnce: true)
      #expect(atOnce == (state == .staleIfError ? .serveAndRefresh : plan(.localElseRemote, state, true)))
      for policy in ReadPolicy.allCases where policy != .localElseRemote {
        #expect(ReadPlan(policy, stored: use, hasNetwork: true, isAtOnce: true) == plan(policy, state, true))
      }
    }
    #expect(plan(.remoteElseLocal, .fresh, true) == both)
    #expect(plan(.remoteElseLocal, .mustRevalidate, true) == bound)
    for state in EntryState.State.allCases {
      #expect(plan(.syncThenLocal, state, true) == plan(.remoteElseLocal, state, true))
    }
    #expect(plan(.remote, .fresh, true) == bound)
    #expect(plan(.localThenRemote, .fresh, true) == .serve(nil))
    #expect(plan(.localThenRemote, .mustRevalidate, true) == .serveAndRefresh)
  }

  @Test("Only a reload requests an immutable entry again")
  func immutable() {
    let stored = EntryState(state: .fresh, age: 0, freshFor: 1, origin: .maxAge, isImmutable: true)
    for policy in ReadPolicy.allCases {
      #expect(ReadPlan(policy, stored: stored, hasNetwork: true) == .serve(nil))
    }
    for policy in ReadPolicy.allCases where policy != .local {
      #expect(
        ReadPlan(policy, stored: stored, hasNetwork: true, ignoresStored: true)
          == .request(isConditional: false, mayFallBack: false))
    }
    #expect(ReadPlan(.local, stored: stored, hasNetwork: true, ignoresStored: true) == .serve(nil))
  }
}
